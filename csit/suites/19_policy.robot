*** Settings ***
Documentation       Isolation policies with the meaning of NetworkPolicy v1, on two nodes: real packets between all pods, policy by
...                 policy, as policies, labels and namespaces change; what the node reaches; what becomes of connections; and what
...                 is refused.
Resource            ../resources/coeus.resource
Library             ../libraries/NorthSouth.py
Library             ../libraries/Policies.py
Suite Setup         Start Four Pods
Suite Teardown      Stop Everything
Test Teardown       Delete All Policies

*** Variables ***
${SEED}             1
${CASES}            25

*** Test Cases ***
Without Policies Everything Passes
    Packets Should Tell

Whom No Rule Allows Is Denied
    ${spec}=    Evaluate    {"policyTypes": ["Ingress", "Egress"]}
    Put Policy    deny all    ${spec}
    Packets Should Tell

A Rule Opens What It Says And Nothing Else
    ${spec}=    Evaluate    {"podSelector": {"matchLabels": {"app": "a"}}, "ingress": [{"from": [{"podSelector": {"matchLabels": {"app": "b"}}}], "ports": [{"port": 80}]}]}
    Put Policy    web    ${spec}
    Packets Should Tell

Policies Of A Pod Are A Union
    ${deny}=    Evaluate    {"policyTypes": ["Ingress"]}
    ${dns}=    Evaluate    {"ingress": [{"ports": [{"protocol": "UDP", "port": 53}]}]}
    ${own}=    Evaluate    {"podSelector": {"matchLabels": {"tier": "a"}}, "ingress": [{"from": [{"podSelector": {}}]}]}
    Put Policy    deny    ${deny}
    Packets Should Tell
    Put Policy    dns    ${dns}
    Packets Should Tell
    Put Policy    own    ${own}
    Packets Should Tell
    Delete Policy    deny
    Packets Should Tell

Addresses Have Exceptions
    ${spec}=    Evaluate    {"ingress": [{"from": [{"ipBlock": {"cidr": "10.11.0.0/16", "except": ["10.11.2.0/24"]}}]}], "egress": [{"to": [{"ipBlock": {"cidr": "10.11.2.0/24"}}], "ports": [{"port": 80, "endPort": 90}]}]}
    Put Policy    blocks    ${spec}
    Packets Should Tell

A Label Moves A Pod In And Out
    ${spec}=    Evaluate    {"podSelector": {"matchLabels": {"app": "a"}}, "ingress": [{"from": [{"podSelector": {"matchLabels": {"role": "client"}}}]}]}
    Put Policy    clients    ${spec}
    Packets Should Tell
    Label Pod    blue:p4    app=b    role=client
    Packets Should Tell
    Label Pod    blue:p4    app=a
    Packets Should Tell
    [Teardown]    Run Keywords    Label Pods    AND    Delete All Policies

The Node Always Reaches Its Pods And They It
    ${spec}=    Evaluate    {"policyTypes": ["Ingress", "Egress"]}
    Put Policy    deny all    ${spec}
    Packets Should Tell
    Node Should Reach    1    10.11.1.10
    Node Should Reach    2    10.11.2.10
    ${bytes}=    Health Check    1    blue:p1    5001
    Should Be Equal As Integers    ${bytes}    1048576
    ${address}=    Node Address    1
    Ping Should Pass    blue:p1    ${address}

ARP Is Outside Of Policies
    ${spec}=    Evaluate    {"policyTypes": ["Ingress", "Egress"]}
    Put Policy    deny all    ${spec}
    Forget Neighbours    blue:p1
    Ping Should Fail    blue:p1    10.11.1.20
    ${mac}=    Resolved Mac    blue:p1    10.11.1.20
    ${own}=    Pod Mac    blue:p2
    Should Be Equal    ${mac}    ${own}

A Policy Is In Force Before A Pod's First Packet
    [Documentation]    The pod sends while its port comes and its entry is written; what is denied never arrives, what is allowed does.
    ${spec}=    Evaluate    {"podSelector": {"matchLabels": {"app": "new"}}, "policyTypes": ["Egress"], "egress": [{"ports": [{"protocol": "UDP", "port": 53}]}]}
    Put Policy    careful    ${spec}
    FOR    ${try}    IN RANGE    5
        ${allowed}    ${denied}=    First Packets    n${try}    10.11.1.${{100 + $try}}    app=new    to=blue:p1
        Should Be True    ${allowed} > 0
        Should Be Equal As Integers    ${denied}    0
        ${allowed}    ${denied}=    First Packets    o${try}    10.11.1.${{120 + $try}}    app=old    to=blue:p1
        Should Be True    ${allowed} > 0 and ${denied} > 0
    END

Long Datagrams Pass As Short Ones Do
    ${spec}=    Evaluate    {"ingress": [{"ports": [{"protocol": "UDP", "port": 53}]}]}
    Put Policy    dns    ${spec}
    Packets Should Tell
    Long Datagrams Should    pass    blue:p1    blue:p3
    Long Datagrams Should    pass    blue:p1    blue:p2
    ${spec}=    Evaluate    {"ingress": [{"ports": [{"protocol": "UDP", "port": 54}]}]}
    Put Policy    dns    ${spec}
    Packets Should Tell
    Long Datagrams Should    fail    blue:p1    blue:p3

A Connection That Is No Longer Allowed Is Cut
    ${open}=    Evaluate    {"ingress": [{"from": [{"podSelector": {}}]}]}
    ${shut}=    Evaluate    {"policyTypes": ["Ingress"]}
    Put Policy    change    ${open}
    Open Connection    blue:p1    blue:p3
    Put Policy    change    ${shut}
    Connection Should    fail    blue:p1    blue:p3
    Open Connection Should    fail
    [Teardown]    Run Keywords    Close Connection    AND    Delete All Policies

A Connection That Is Still Allowed Goes On
    ${open}=    Evaluate    {"ingress": [{"from": [{"podSelector": {}}]}]}
    ${less}=    Evaluate    {"ingress": [{"ports": [{"port": 80}]}]}
    Put Policy    change    ${open}
    Connection Should    pass    blue:p1    blue:p3
    Open Connection    blue:p1    blue:p3
    Put Policy    change    ${less}
    Connection Should    fail    blue:p1    blue:p3    8080
    Open Connection Should    pass
    [Teardown]    Run Keywords    Close Connection    AND    Delete All Policies

A Policy May Keep Connections
    ${open}=    Evaluate    {"ingress": [{"from": [{"podSelector": {}}]}]}
    ${shut}=    Evaluate    {"policyTypes": ["Ingress"]}
    Put Policy    change    ${open}    blue    keep
    Open Connection    blue:p1    blue:p3
    Put Policy    change    ${shut}    blue    keep
    Connection Should    fail    blue:p1    blue:p3
    Open Connection Should    pass
    [Teardown]    Run Keywords    Close Connection    AND    Delete All Policies

An Isolated Namespace Is Open To Itself
    Isolate Namespace    blue    yes
    Packets Should Tell
    [Teardown]    Isolate Namespace    blue    no

What Cannot Be Meant Is Refused
    ${spec}=    Evaluate    {"ingress": [{"ports": [{"port": 70000}]}]}
    Policy Is Refused    ${spec}    port 70000 is out of range
    ${spec}=    Evaluate    {"ingress": [{"ports": [{"port": 90, "endPort": 80}]}]}
    Policy Is Refused    ${spec}    end-port 80 is below port 90
    ${spec}=    Evaluate    {"ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["192.0.2.0/24"]}}]}]}
    Policy Is Refused    ${spec}    not strictly within cidr 10.0.0.0/8
    ${spec}=    Evaluate    {"podSelector": {"matchLabels": {"a b": "c"}}}
    Policy Is Refused    ${spec}    is no key of a label
    ${spec}=    Evaluate    {"ingress": [{"from": [{}]}]}
    Policy Is Refused    ${spec}    names nobody
    Packets Should Tell

Policies Drawn At Random
    ${slowest}    ${middle}=    Try Random Policies    ${SEED}    ${CASES}
    Log    from PUT to the last cell: ${middle} s in the middle, ${slowest} s at most    console=yes
    Tables Should Be As From Scratch

Nothing Is Left Of Policies
    Wait For Switches
    ${flows}=    Flows Naming    1    conjunction
    Should Be Empty    ${flows}
    Packets Should Tell

*** Keywords ***
Start Four Pods
    Start Lab And Session    2
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    Create And Plug Pod    p1    blue    1    10.11.1.10    10.11.1.1
    Create And Plug Pod    p2    blue    1    10.11.1.20    10.11.1.1
    Create And Plug Pod    p3    blue    2    10.11.2.10    10.11.2.1
    Create And Plug Pod    p4    blue    2    10.11.2.20    10.11.2.1
    All Pods Should Reach All    blue
    Route Pods Of Node    1    10.11.1.0/24
    Route Pods Of Node    2    10.11.2.0/24
    Label Pods
    Serve In Pods

Label Pods
    Label Pod    blue:p1    app=a    tier=a
    Label Pod    blue:p2    app=b    tier=a
    Label Pod    blue:p3    app=a    tier=b
    Label Pod    blue:p4    app=b

Stop Everything
    Stop Servers
    Stop Lab
